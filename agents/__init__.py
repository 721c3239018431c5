"""The automated part: model clients, prompts, sandboxes, pipelines and the job runner. Imports only store."""
