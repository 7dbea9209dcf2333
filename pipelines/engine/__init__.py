"""Run graphs: transforms whose results are kept, the shuffle, worker processes, signals, Dataflow."""
