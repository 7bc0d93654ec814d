import { expect, test } from "bun:test";
import type { InventoryPeel } from "../../fleet/exports/mod.ts";
import { ansibleInventory, hostVarsOf } from "./ansible.ts";

const peel = (id: string, more: Partial<InventoryPeel> = {}): InventoryPeel => ({
  ...{ id, peel_id: id.replaceAll(".", "_"), labels: {}, facts: {} },
  ...more,
});

test("hosts are in a group for each label and each fact, with names that Ansible accepts", () => {
  const inventory = ansibleInventory([
    peel("db-1", { labels: { env: "prod" }, facts: { os: "Debian", osrelease: "12.4" } }),
    peel("web-1.example", {
      ...{ address: "192.0.2.7", labels: { env: "prod", "rack.row": "a b" } },
      facts: { osrelease: "12-4", roles: ["web", "cache", { a: 1 }], efi: true, dns: { search: "x" } },
    }),
  ]);
  const { _meta, all, ...groups } = inventory;
  expect(groups).toEqual({
    fact_efi_true: { hosts: ["web-1.example"] },
    fact_os_Debian: { hosts: ["db-1"] },
    fact_osrelease_12_4: { hosts: ["db-1", "web-1.example"] },
    fact_roles_cache: { hosts: ["web-1.example"] },
    fact_roles_web: { hosts: ["web-1.example"] },
    label_env_prod: { hosts: ["db-1", "web-1.example"] },
    label_rack_row_a_b: { hosts: ["web-1.example"] },
  });
  expect(all).toEqual({ hosts: ["db-1", "web-1.example"], children: Object.keys(groups) });
  expect(_meta.hostvars["web-1.example"]).toMatchObject({
    ...{ ansible_host: "192.0.2.7", svc_peel: "web-1.example", svc_peel_id: "web-1_example" },
    svc_labels: { env: "prod", "rack.row": "a b" },
  });
  expect(ansibleInventory([])).toEqual({ _meta: { hostvars: {} }, all: { hosts: [], children: [] } });
});

test("what a peel says is neither a template nor a variable of Ansible, and names no endless group", () => {
  const hostile = peel("web-1", {
    facts: {
      os: "{{ lookup('pipe', 'id') }}",
      ansible_connection: "local",
      list: ["x", "{% raw %}"],
      map: { __ansible_vault: "x", "{{ key }}": 1, good: "{#" },
      long: "x".repeat(65),
      empty: "",
      line: "a\n[all]",
    },
  });
  const vars = hostVarsOf(hostile);
  expect(Object.keys(vars)).toEqual(["svc_peel", "svc_peel_id", "svc_labels", "svc_facts"]);
  expect(vars.svc_facts).toEqual({
    os: { __ansible_unsafe: "{{ lookup('pipe', 'id') }}" },
    ansible_connection: "local",
    list: ["x", { __ansible_unsafe: "{% raw %}" }],
    map: { good: { __ansible_unsafe: "{#" } },
    ...{ long: "x".repeat(65), empty: "", line: "a\n[all]" },
  });
  const { all } = ansibleInventory([hostile]);
  for (const name of all.children) expect(name).toMatch(/^fact_[A-Za-z0-9_]+$/);
  expect(all.children.filter((name) => /long|empty|map/.test(name))).toEqual([]);
});
