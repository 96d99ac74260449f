# Recorded runs; tests read them.  update.sh writes the list.
RECORDED =
RECORDED += results/h200-2026-12-01
EXTRA_DIST += results/update.sh $(RECORDED)
