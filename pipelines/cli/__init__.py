"""The command line of the pipelines: commands, `--config` files, exit statuses."""
