nobase_dist_pkgdata_DATA += \
	plots/fill.gp \
	plots/gpu-time.gp \
	plots/occupancy.gp \
	plots/reread.gp \
	plots/style.gp \
	plots/throughput.gp
