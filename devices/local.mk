nobase_dist_pkgdata_DATA += \
	devices/a100.ini \
	devices/b200.ini \
	devices/gb10.ini \
	devices/h100.ini \
	devices/h200.ini \
	devices/l40s.ini \
	devices/rtx-4090.ini \
	devices/rtx-5090.ini \
	devices/rtx-pro-6000-max-q.ini \
	devices/rtx-pro-6000-server.ini \
	devices/rtx-pro-6000.ini
