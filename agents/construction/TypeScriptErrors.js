// Checks versions of files one by one, each beside the other files of its repository as they are, and prints their
// errors. Arguments: the folder of the package `typescript`, and a JSON file: `files`, the text of each by its path, and
// `versions`, a list of paths and texts. Of an error it prints the number of the version, its code, and where it begins
// and ends, in UTF-16 units; where a version cannot be parsed, and when it is done, it says so. Nothing is written.
"use strict";

const fs = require("fs");
const path = require("path");

const ts = require(path.join(process.argv[2], "lib", "typescript.js"));
const { files, versions } = JSON.parse(fs.readFileSync(process.argv[3], "utf8"));

const options = {
  allowSyntheticDefaultImports: true,
  esModuleInterop: true,
  experimentalDecorators: true,
  jsx: ts.JsxEmit.Preserve,
  lib: ["lib.esnext.d.ts", "lib.dom.d.ts", "lib.dom.iterable.d.ts"],
  module: ts.ModuleKind.ESNext,
  moduleResolution: ts.ModuleResolutionKind.NodeJs || ts.ModuleResolutionKind.Node10,
  noEmit: true,
  skipLibCheck: true,
  target: ts.ScriptTarget.ESNext,
  types: [],
};
const libraries = path.join(process.argv[2], "lib");
const parsed = new Map();

function parse(name, text) {
  return ts.createSourceFile(name, text, options.target, true);
}

function hostOf(changed, text) {
  const has = (name) => Object.hasOwn(files, name) || (name.startsWith(libraries) && fs.existsSync(name));
  const read = (name) => (Object.hasOwn(files, name) ? files[name] : fs.readFileSync(name, "utf8"));
  return {
    fileExists: has,
    readFile: (name) => (has(name) ? read(name) : undefined),
    getSourceFile: (name) => {
      if (name === changed) return parse(name, text);
      if (!has(name)) return undefined;
      if (!parsed.has(name)) parsed.set(name, parse(name, read(name)));
      return parsed.get(name);
    },
    getDefaultLibFileName: () => path.join(libraries, "lib.esnext.d.ts"),
    getDefaultLibLocation: () => libraries,
    getCurrentDirectory: () => "/",
    getCanonicalFileName: (name) => name,
    useCaseSensitiveFileNames: () => true,
    getNewLine: () => "\n",
    directoryExists: (name) => Object.keys(files).some((one) => one.startsWith(name + "/")),
    getDirectories: () => [],
    writeFile: () => {},
  };
}

const roots = Object.keys(files);
let before;
versions.forEach(([name, text], number) => {
  const lines = [];
  try {
    const program = ts.createProgram(roots, options, hostOf(name, text), before);
    before = program;
    const source = program.getSourceFile(name);
    if (program.getSyntacticDiagnostics(source).length > 0) {
      lines.push(`${number} unparsed - 0 0`);
    } else {
      for (const one of program.getSemanticDiagnostics(source)) {
        if (one.category === ts.DiagnosticCategory.Error && one.start !== undefined) {
          lines.push(`${number} error ${one.code} ${one.start} ${one.start + one.length}`);
        }
      }
    }
  } catch (error) {
    lines.push(`${number} failed - 0 0`);
    before = undefined;
  }
  fs.writeSync(1, [...lines, `${number} done - 0 0`, ""].join("\n"));
});
