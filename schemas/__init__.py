"""The contract between the pipelines and whoever reads their datasets: one module per dataset. Imports nothing of
ours."""
