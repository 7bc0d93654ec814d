import { beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { login, pushImage, registry, startDocker } from "../harness/docker-host.ts";
import { hostTimeoutMs, openPrivateRoot, type PrivateRoot } from "../harness/private-root.ts";
import { brief, output } from "../harness/state-trips.ts";

setDefaultTimeout(hostTimeoutMs);

const image = `${registry}/base:1`;
const settings = `docker-registries: {"${registry}": ${JSON.stringify(login)}}`;
const front = `
front:
  docker_network.present:
    - driver: bridge
    - driver_opts: {com.docker.network.bridge.name: br-front}
    - subnet: 10.9.0.0/24
    - gateway: 10.9.0.1
    - ip_range: 10.9.0.128/25
    - internal: true
    - attachable: true
    - labels: {tier: front}
`;
const data = `
data:
  docker_volume.present: [{driver: local}, {driver_opts: {type: tmpfs, device: tmpfs, o: size=1m}}]
`;
// Every argument that this kernel and this engine can follow.
const web = `
db:
  docker_container.running: [{image: "${image}"}, {command: sleep 1000}, {network_mode: bridge}]
web:
  docker_container.running:
    - image: ${image}
    - command: sh -c 'echo "$TOKEN"; exec sleep 1000'
    - environment: {TOKEN: it's hush, EMPTY: "", NUMBER: 1}
    - hostname: web
    - domainname: example.test
    - user: "1000:1000"
    - group_add: [29]
    - working_dir: /tmp
    - labels: [tier=front, empty]
    - ports: [90, 53/udp]
    - port_bindings: ["8080:80", "127.0.0.1:8443:443/tcp", "9000-9002:9000-9002"]
    - binds: ["/srv:/srv:ro", "data:/data"]
    - volumes: [/scratch]
    - volumes_from: [db]
    - tmpfs: {/run: size=1m}
    - restart_policy: on-failure:5
    - networks: [{front: [{aliases: [www]}, {ipv4_address: 10.9.0.200}]}]
    - links: [db, "db:database"]
    - extra_hosts: ["other:10.0.0.2"]
    - dns: [10.0.0.53]
    - dns_search: [example.test]
    - cap_add: [NET_ADMIN]
    - cap_drop: [MKNOD]
    - devices: ["/dev/null:/dev/nothing:r"]
    - security_opt: [no-new-privileges]
    - read_only: true
    - memory: 64m
    - cpu_shares: 512
    - shm_size: 32m
    - ulimits: [nofile=100:200]
    - log_driver: json-file
    - log_opt: {max-size: 1m}
    - ipc_mode: private
    - stop_signal: SIGKILL
    - stop_timeout: 1
    - tty: true
    - interactive: true
    - init: true
    - sysctls: {net.ipv4.ip_forward: 1}
`;

let root: PrivateRoot;
beforeAll(async () => {
  root = await openPrivateRoot({ systemd: true });
  await startDocker(root);
  return () => root[Symbol.asyncDispose]();
});

test("an image is pulled from a registry that asks for a password, and again when it is newer", async () => {
  await pushImage(root, image, "first");
  const present = `${image}:\n  docker_image.present: []\n`;
  const forced = `${image}:\n  docker_image.present: [{force: true}]\n`;
  const [refused] = await root.apply(present);
  expect(refused).toMatchObject({ result: false, changes: {} });
  expect(refused?.comment).toContain("no basic auth credentials");
  expect(await brief(root, present, { test: true, settings })).toBe(`${image}:null+`);
  expect(await brief(root, present, { settings })).toBe(`${image}:true+`);
  expect(await brief(root, present, { settings })).toBe(`${image}:true`);
  expect(await brief(root, forced, { settings })).toBe(`${image}:true`);
  await pushImage(root, `${registry}/base:newer`, "second");
  expect(
    await output(
      root,
      `docker pull -q ${registry}/base:newer >/dev/null && docker tag ${registry}/base:newer ${image} && docker push -q ${image} && docker rmi ${registry}/base:newer ${image} >/dev/null`,
    ),
  ).toBe(image);
  expect(await brief(root, present, { settings })).toBe(`${image}:true+`);
});

test("networks, volumes and containers are made, changed and removed, and nothing is done twice", async () => {
  const there = front + data + web;
  const ids = (result: string) => `front:${result} data:${result} db:${result} web:${result}`;
  expect(await brief(root, there, { test: true })).toBe(ids("null+"));
  expect(await output(root, "docker ps -aq; docker volume ls -q")).toBe("");
  const made = await root.apply(there);
  expect(made.map(({ comment }) => comment)).toEqual([
    "the network front was created",
    "the volume data was created",
    "the container db was created",
    "the container web was created",
  ]);
  expect(JSON.stringify(made)).not.toContain("hush");
  expect(await output(root, "docker logs web")).toBe("it's hush");
  expect(await output(root, "docker exec db cat /content")).not.toBe("");
  expect(await brief(root, there)).toBe(ids("true"));
  // The kernel decides whether memory can be limited; the state says so, and leaves the container alone.
  const limited = await output(root, "docker info -f '{{.MemoryLimit}}'");
  const [again] = (await root.apply(there)).slice(-1);
  expect(again?.comment.includes("cannot limit Memory")).toBe(limited === "false");

  const moved = there.replace("10.9.0.200", "10.9.0.201").replace("aliases: [www]", "aliases: [www, api]");
  const [reconnected] = (await root.apply(moved)).slice(-1);
  expect(reconnected).toMatchObject({ changes: { front: { reconnected: ["Aliases", "IPv4Address"] } } });
  expect(await brief(root, moved)).toBe(ids("true"));
  const changed = moved.replace("it's hush", "another hush").replace("8080:80", "8081:80");
  const [replaced] = (await root.apply(changed)).slice(-1);
  expect(replaced).toMatchObject({ result: true, changes: { web: { replaced: ["Env", "PortBindings"] } } });
  expect(await brief(root, changed)).toBe(ids("true"));
  // A network with containers is not replaced under them.
  const [inUse] = await root.apply(
    front.replace("10.9.0.0/24", "10.8.0.0/24").replaceAll("10.9.0.1", "10.8.0.1"),
  );
  expect(inUse).toMatchObject({ result: false, comment: expect.stringContaining("1 containers are in it") });

  const stopped = "web:\n  docker_container.stopped: []\n";
  expect(await brief(root, stopped)).toBe("web:true+");
  expect(await brief(root, stopped)).toBe("web:true");
  expect(await brief(root, changed)).toContain("web:true+");
  const [running] = await root.apply("web:\n  docker_container.absent: []\n");
  expect(running).toMatchObject({ result: false, comment: expect.stringContaining("stop it first") });
});

test("a network with IPv6 is made once, however its addresses are written", async () => {
  const six = (subnet: string, gateway: string) =>
    `six:\n  docker_network.present: [{enable_ipv6: true}, {subnet: "${subnet}"}, {gateway: "${gateway}"}]\n`;
  expect(await brief(root, six("FD00:0:0:1::5/64", "FD00:0:0:1:0::1"))).toBe("six:true+");
  expect(await brief(root, six("FD00:0:0:1::5/64", "FD00:0:0:1:0::1"))).toBe("six:true");
  expect(await brief(root, six("fd00:0:0:1::/64", "fd00:0:0:1::1"))).toBe("six:true");
  expect(await brief(root, "six:\n  docker_network.absent: []\n")).toBe("six:true+");
});

test("what is not wanted any more is removed, and an image in use is not", async () => {
  const [inUse] = await root.apply(`${image}:\n  docker_image.absent: []\n`);
  expect(inUse).toMatchObject({ result: false, changes: {} });
  expect(inUse?.comment).toContain("is using");
  const gone = `
web:
  docker_container.absent: [{force: true}]
db:
  docker_container.absent: [{force: true}]
front:
  docker_network.absent: []
data:
  docker_volume.absent: []
${image}:
  docker_image.absent: []
`;
  const ids = (result: string) =>
    `web:${result} db:${result} front:${result} data:${result} ${image}:${result}`;
  expect(await brief(root, gone, { test: true })).toBe(ids("null+"));
  expect(await brief(root, gone)).toBe(ids("true+"));
  expect(await brief(root, gone)).toBe(ids("true"));
});

test("a container that cannot run fails with what the engine says, and is there to be looked at", async () => {
  const running = (rest: string) =>
    `ends:\n  docker_container.running: [{image: "${image}"}, {stop_timeout: 1}, ${rest}]\n`;
  const cases = {
    "{command: sh -c 'exit 7'}": "the container ends ended at once with 7",
    "{command: /bin/missing}": "cannot start the container ends",
    "{command: sleep 9}, {binds: 'srv:data'}": "cannot create the container ends",
  };
  for (const [rest, said] of Object.entries(cases)) {
    const [result] = await root.apply(running(rest), { settings });
    expect({ rest, ...result }).toMatchObject({ result: false, comment: expect.stringContaining(said) });
  }
  const [unknown] = await root.apply(`${registry}/none:1:\n  docker_image.present: []\n`, { settings });
  expect(unknown?.comment).toContain("manifest unknown");
});
