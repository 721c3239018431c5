"""What is automated: model clients, prompts, sandboxes, pipelines and the job runner. Imports only store."""
