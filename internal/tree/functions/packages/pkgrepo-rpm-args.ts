import { type ArgSpec, arg } from "../../../host/modules/mod.ts";

/** Options of a file in /etc/yum.repos.d, by the names that dnf gives them. */
export const rpmArgs = {
  baseurl: arg.strings("With dnf and yum, addresses of the repository."),
  mirrorlist: arg.string("With dnf and yum, address of a list of mirrors."),
  metalink: arg.string("With dnf and yum, address of a metalink of the repository."),
  gpgkey: arg.strings("With dnf and yum, addresses of the keys that sign the packages."),
  gpgcheck: arg.any("With dnf and yum, whether signatures of packages are verified."),
  repo_gpgcheck: arg.any("With dnf and yum, whether the signature of the repository is verified."),
  sslverify: arg.any("With dnf and yum, whether the certificate of the server is verified."),
  sslcacert: arg.string("With dnf and yum, file with the authorities of the server."),
  sslclientcert: arg.string("With dnf and yum, file with the certificate of this host."),
  sslclientkey: arg.string("With dnf and yum, file with the key of this host."),
  priority: arg.any("With dnf and yum, lower numbers are preferred."),
  cost: arg.any("With dnf and yum, cost of access, relative to other repositories."),
  enabled_metadata: arg.any("With dnf and yum, written as it is."),
  failovermethod: arg.string("With yum, priority or roundrobin."),
  skip_if_unavailable: arg.any("With dnf and yum, whether a server that does not answer is skipped."),
  metadata_expire: arg.any("With dnf and yum, how long the lists are kept."),
  module_hotfixes: arg.any("With dnf, whether module filters are ignored."),
  exclude: arg.strings("With dnf and yum, packages that are not taken from it."),
  includepkgs: arg.strings("With dnf and yum, the only packages that are taken from it."),
  proxy: arg.string("With dnf and yum, address of a proxy."),
  username: arg.string("With dnf and yum, user name at the server."),
  password: arg.string("With dnf and yum, password at the server; it is not shown."),
  gpgautoimport: arg.any("Accepted and not used: it is an option of zypper."),
} as const satisfies Record<string, ArgSpec>;
