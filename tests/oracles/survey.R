# Estimates of the package survey from a stratified sample: Rscript survey.R > survey.json
suppressPackageStartupMessages(library(survey))
sample <- read.csv("survey.csv")
sample$one <- 1
sample$right <- as.numeric(sample$agent == sample$expert)
sample$both <- sample$agent * sample$expert
sample$difference <- sample$expert - sample$agent
design <- svydesign(ids = ~1, strata = ~stratum, fpc = ~units, data = sample)
line <- function(name, found) sprintf(' "%s": [%.15g, %.15g]', name, coef(found)[[1]], SE(found)[[1]])
cat("{\n", sprintf(' "program": "survey %s, %s",\n', packageVersion("survey"), R.version.string), sep = "")
cat(paste(c(
  line("prevalence", svymean(~expert, design)),
  line("accuracy", svymean(~right, design)),
  line("precision", svyratio(~both, ~agent, design)),
  line("recall", svyratio(~both, ~expert, design)),
  line("difference", svymean(~difference, design))
), collapse = ",\n"), "\n}\n", sep = "")
