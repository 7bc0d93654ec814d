/**
 * The modules of state functions that Salt has for Linux. A key with one of these names in a state file is a state function;
 * others, such as `example.com:`, are data. */ export const saltStateModules: ReadonlySet<string> = new Set(
  `acme alias
   alternatives ansiblegate apache_conf apache_module apache_site aptpkg archive at augeas beacon blockdev
   bower btrfs cabal chronos_job cloud cmd composer consul cron cryptdev csf cyg ddns debconf disk
   docker_container docker_image docker_network docker_volume elasticsearch environ ethtool event eventlog
   file firewall firewalld gem git github gpg grafana grafana4_dashboard grains group heat helm hg
   highstate_doc host hostname http icinga2 ifttt incron influxdb_database influxdb_user
   infoblox_host_record ini initscript iptables ipset jenkins kapacitor kernelpkg keyboard keystone
   keystore kmod kubernetes layman ldap libvirt linux_acl locale logrotate loop lvm lvs_server lvs_service
   lxc lxd makeconf mdadm_raid memcached modjk module mongodb_database mongodb_user monit mount
   mysql_database mysql_grants mysql_query mysql_user netconfig network nfs_export nftables nginx npm ntp
   nxos openvswitch_bridge openvswitch_port opsgenie pagerduty pcs pdbedit pecl pip pip_state pkg pkgbuild
   pkgrepo portage_config ports postgres_cluster postgres_database postgres_extension postgres_group
   postgres_initdb postgres_language postgres_privileges postgres_schema postgres_tablespace postgres_user
   powerpath probes process proxy pushover pyenv quota rabbitmq_cluster rabbitmq_plugin rabbitmq_policy
   rabbitmq_upstream rabbitmq_user rabbitmq_vhost rbenv rdp redismod restconf rsync rvm salt saltmod
   saltutil schedule selinux service slack smtp snapper splunk sqlite3 ssh_auth ssh_known_hosts stateconf
   status statuspage supervisord svn sysctl sysfs syslog_ng systemd telemetry_alert test testinframod
   timezone tls tomcat trafficserver tuned ufw uptime user vagrant vault vbox_guest virt virtualenv winrepo
   x509 x509_v2 xml xmpp zabbix_host zabbix_user zcbuildout zfs zookeeper zpool`.split(/\s+/),
);
