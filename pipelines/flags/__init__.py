"""The command lines of `wikianchor`: a module for each command, with its flags and what they come to, its `Config`.

They are read without pyarrow, NumPy, requests and Beam, which take many times longer to load than help takes to print;
so what flags choose from stands where these are not needed either.
"""
