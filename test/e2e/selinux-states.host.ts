import { expect, setDefaultTimeout, test } from "bun:test";
import { installPackages } from "../harness/host-packages.ts";
import { hostTimeoutMs, openPrivateRoot } from "../harness/private-root.ts";
import { brief, output, roundTrip } from "../harness/state-trips.ts";

setDefaultTimeout(hostTimeoutMs);

test("types of ports and paths in the policy of a host whose kernel has no SELinux", async () => {
  await using root = await openPrivateRoot();
  await installPackages(root, "selinux");
  const there = `
tcp/8999:
  selinux.port_policy_present: [{sel_type: http_port_t}]
known:
  selinux.port_policy_present: [{name: tcp/8080}, {sel_type: http_port_t}]
inside:
  selinux.port_policy_present: [{name: tcp/10005}, {sel_type: http_port_t}]
range:
  selinux.port_policy_present: [{protocol: udp}, {port: 9000-9010}, {sel_type: http_cache_port_t}]
/srv/web(/.*)?:
  selinux.fcontext_policy_present: [{sel_type: httpd_sys_content_t}]
directories:
  selinux.fcontext_policy_present: [{name: "/srv/data(/.*)?"}, {sel_type: var_t}, {filetype: d}, {sel_user: system_u}, {sel_level: s0}]
`;
  const gone = `
tcp/8999:
  selinux.port_policy_absent: []
known:
  selinux.port_policy_absent: [{name: tcp/8080}]
inside:
  selinux.port_policy_absent: [{name: tcp/10005}]
range:
  selinux.port_policy_absent: [{protocol: udp}, {port: 9000-9010}]
/srv/web(/.*)?:
  selinux.fcontext_policy_absent: []
directories:
  selinux.fcontext_policy_absent: [{name: "/srv/data(/.*)?"}, {filetype: d}]
`;
  const ids = ["tcp/8999", "known", "inside", "range", "/srv/web(/.*)?", "directories"];
  const probe = "semanage port -lnC; semanage fcontext -lnC";
  const seen = await roundTrip(root, { there, gone, ids }, probe);
  expect([seen.before, seen.gone]).toEqual(["", ""]);
  expect(seen.there).toMatch(/^http_port_t +tcp +8999, 8080, 10005$/m);
  expect(seen.there).toMatch(/^http_cache_port_t +udp +9000-9010$/m);
  expect(seen.there).toMatch(/^\/srv\/web\(\/\.\*\)\? +all files +system_u:object_r:httpd_sys_content_t:s0/m);
  // Another type of the same port, and one that the policy does not have.
  const other = "tcp/8999:\n  selinux.port_policy_present: [{sel_type: ssh_port_t}]\n";
  expect(await brief(root, `${there.split("known:")[0]}`)).toBe("tcp/8999:true+");
  expect(await brief(root, other)).toBe("tcp/8999:true+");
  expect(await brief(root, other)).toBe("tcp/8999:true");
  const [refused] = await root.apply(other.replace("ssh_port_t", "no_such_t"));
  expect(refused).toMatchObject({ result: false, comment: expect.stringContaining("no_such_t") });
  // The mode is for the next boot of a kernel that has SELinux; booleans need that kernel.
  const mode = "enforcing:\n  selinux.mode: []\n";
  expect(await brief(root, mode)).toBe("enforcing:true+");
  expect(await brief(root, mode)).toBe("enforcing:true");
  expect(await output(root, "grep ^SELINUX= /etc/selinux/config")).toBe("SELINUX=enforcing");
  const [disabled] = await root.apply(
    "httpd_enable_homedirs:\n  selinux.boolean: [{value: true}, {persist: true}]\n",
  );
  expect(disabled).toMatchObject({ result: false, comment: expect.stringContaining("SELinux is disabled") });
});
