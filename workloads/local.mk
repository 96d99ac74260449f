nobase_dist_pkgdata_DATA += \
	workloads/default.ini \
	workloads/short.ini \
	workloads/v4-flash.ini
