# Recorded runs; tests read them.
