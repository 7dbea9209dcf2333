"""Run the Lua modules of a wiki, in a process of their own and within limits that are counted."""
