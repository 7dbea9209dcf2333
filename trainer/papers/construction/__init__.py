"""How SDJC's Japanese STS benchmark is made (section 4.1): translations, those that hold by translating them back, and
a comparison of the versions by what a regression learns from each."""
