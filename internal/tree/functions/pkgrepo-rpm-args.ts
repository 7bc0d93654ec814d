import type { ArgSpec } from "../../host/modules/mod.ts";

const flag = (doc: string) => ({ type: "any", doc }) as const;

/** Options of a file in /etc/yum.repos.d, by the names that dnf gives them. */
export const rpmArgs = {
  baseurl: { type: "strings", doc: "dnf, yum: addresses of the repository." },
  mirrorlist: { type: "string", doc: "dnf, yum: address of a list of mirrors." },
  metalink: { type: "string", doc: "dnf, yum: address of a metalink of the repository." },
  gpgkey: { type: "strings", doc: "dnf, yum: addresses of the keys that sign the packages." },
  gpgcheck: flag("dnf, yum: whether signatures of packages are verified."),
  repo_gpgcheck: flag("dnf, yum: whether the signature of the repository is verified."),
  sslverify: flag("dnf, yum: whether the certificate of the server is verified."),
  sslcacert: { type: "string", doc: "dnf, yum: file with the authorities of the server." },
  sslclientcert: { type: "string", doc: "dnf, yum: file with the certificate of this host." },
  sslclientkey: { type: "string", doc: "dnf, yum: file with the key of this host." },
  priority: flag("dnf, yum: lower numbers are preferred."),
  cost: flag("dnf, yum: cost of access, relative to other repositories."),
  enabled_metadata: flag("dnf, yum: written as it is."),
  failovermethod: { type: "string", doc: "yum: priority or roundrobin." },
  skip_if_unavailable: flag("dnf, yum: whether a server that does not answer is skipped."),
  metadata_expire: flag("dnf, yum: how long the lists are kept."),
  module_hotfixes: flag("dnf: whether module filters are ignored."),
  exclude: { type: "strings", doc: "dnf, yum: packages that are not taken from it." },
  includepkgs: { type: "strings", doc: "dnf, yum: the only packages that are taken from it." },
  proxy: { type: "string", doc: "dnf, yum: address of a proxy." },
  username: { type: "string", doc: "dnf, yum: user name at the server." },
  password: { type: "string", doc: "dnf, yum: password at the server; it is not shown." },
  gpgautoimport: flag("zypper: accepted and not used."),
} as const satisfies Record<string, ArgSpec>;
