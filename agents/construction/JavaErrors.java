import com.sun.source.util.JavacTask;
import java.io.IOException;
import java.io.PrintStream;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import javax.tools.Diagnostic;
import javax.tools.DiagnosticCollector;
import javax.tools.JavaCompiler;
import javax.tools.JavaFileObject;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/**
 * Compiles files one by one, each beside the others of its repository, and prints the errors in it.
 *
 * <p>Arguments: the source path, and a file with the path of a file to compile in each line. Of an error it prints
 * the number of that line, its key, and where it begins and ends in the file, in UTF-16 units; it says of each file
 * whether it cannot be parsed, and when it is done. Nothing is generated, and no annotation processor is run.
 */
public final class JavaErrors {
    public static void main(String[] arguments) throws IOException {
        JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
        List<String> options =
                List.of(
                        "-proc:none", "-implicit:none", "-nowarn", "-Xlint:none", "-Xmaxerrs", "100000",
                        "-XDshould-stop.ifError=FLOW", "-encoding", "UTF-8", "-classpath", "",
                        "-sourcepath", arguments[0]);
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        List<String> paths = Files.readAllLines(Path.of(arguments[1]));
        for (int number = 0; number < paths.size(); number++) {
            Path path = Path.of(paths.get(number));
            DiagnosticCollector<JavaFileObject> found = new DiagnosticCollector<>();
            try (StandardJavaFileManager files =
                    compiler.getStandardFileManager(found, null, StandardCharsets.UTF_8)) {
                JavacTask task =
                        (JavacTask)
                                compiler.getTask(
                                        Writer.nullWriter(), files, found, options, null,
                                        files.getJavaFileObjects(path));
                task.parse();
                if (found.getDiagnostics().stream().anyMatch(one -> one.getKind() == Diagnostic.Kind.ERROR)) {
                    out.println(number + " unparsed - 0 0");
                } else {
                    task.analyze();
                }
            } catch (RuntimeException | StackOverflowError | AssertionError error) {
                out.println(number + " failed " + error.getClass().getName().replaceAll("\\s", "") + " 0 0");
            }
            for (Diagnostic<? extends JavaFileObject> one : found.getDiagnostics()) {
                if (one.getKind() == Diagnostic.Kind.ERROR
                        && one.getSource() != null
                        && Path.of(one.getSource().toUri()).equals(path)) {
                    out.println(
                            number + " error " + one.getCode() + " " + one.getStartPosition() + " "
                                    + one.getEndPosition());
                }
            }
            out.println(number + " done - 0 0");
            out.flush();
        }
    }
}
