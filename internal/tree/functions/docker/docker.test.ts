import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { type DockerEngine, startDockerEngine } from "../../../../test/harness/docker-engine.ts";
import { type Around, planOn } from "../../../../test/harness/planned-state.ts";
import type { CallArgs } from "../../../host/modules/function.ts";
import { containerBody } from "./container-config.ts";
import { portsOf, wordsOf } from "./translate.ts";

let docker: DockerEngine;
beforeEach(() => {
  docker = startDockerEngine();
});
afterEach(() => docker[Symbol.dispose]());

async function plan(called: string, name: string, args: CallArgs = {}, around: Around = {}) {
  return (await planOn({}, called, name, { socket: docker.socket, ...args }, around)).plan;
}

/** Tests, applies, and tests again. */
async function settle(called: string, name: string, args: CallArgs = {}) {
  const tested = await plan(called, name, args);
  expect(docker.requests).toEqual([]);
  const done = await tested.apply?.();
  const again = await plan(called, name, args);
  expect([again.changes, again.apply]).toEqual([{}, undefined]);
  return { changes: tested.changes, done };
}

const web = {
  image: "nginx:1.27",
  environment: [{ MODE: "live" }, { TOKEN: "hush" }],
  port_bindings: ["8080:80", "127.0.0.1:8443:443/tcp"],
  binds: "/srv/www:/www:ro",
  restart_policy: "on-failure:5",
  labels: ["a=b"],
  networks: ["front"],
  command: "nginx -g 'daemon off;'",
};

describe("docker_container.running", () => {
  beforeEach(() => docker.networks.set("front", {}));

  test("pulls, creates, connects and starts, and then has nothing to do", async () => {
    const { changes } = await settle("docker_container.running", "web", web);
    expect(changes).toEqual({ "nginx:1.27": "pulled", web: "created" });
    expect(docker.requests).toEqual([
      "POST /images/create?fromImage=nginx:1.27",
      "POST /containers/create?name=web",
      "POST /networks/front/connect",
      "POST /containers/web/start",
    ]);
    expect(docker.bodies[0]).toEqual({
      Image: "nginx:1.27",
      Cmd: ["nginx", "-g", "daemon off;"],
      Env: ["MODE=live", "TOKEN=hush"],
      Labels: { a: "b" },
      ExposedPorts: { "80/tcp": {}, "443/tcp": {} },
      HostConfig: {
        PortBindings: {
          "80/tcp": [{ HostIp: "", HostPort: "8080" }],
          "443/tcp": [{ HostIp: "127.0.0.1", HostPort: "8443" }],
        },
        Binds: ["/srv/www:/www:ro"],
        RestartPolicy: { Name: "on-failure", MaximumRetryCount: 5 },
      },
    });
  });

  test("replaces a container that differs, and names what without its value", async () => {
    await (await plan("docker_container.running", "web", web)).apply?.();
    docker.requests.length = 0;
    const { changes } = await settle("docker_container.running", "web", {
      ...web,
      environment: { MODE: "test", TOKEN: "hush" },
      restart_policy: "always",
      shutdown_timeout: 3,
    });
    expect(changes).toEqual({ web: { replaced: ["Env", "RestartPolicy"] } });
    expect(docker.requests.slice(0, 3)).toEqual([
      "POST /containers/web/stop?t=3",
      "DELETE /containers/web",
      "POST /containers/create?name=web",
    ]);
  });

  test("replaces a container of an older image, starts one that stopped, and keeps what is not wanted in particular", async () => {
    await (await plan("docker_container.running", "web", web)).apply?.();
    docker.images.set("nginx:1.27", "sha256:newer");
    expect((await plan("docker_container.running", "web", web)).changes).toEqual({
      web: { replaced: ["Image"] },
    });
    docker.images.set("nginx:1.27", "sha256:nginx:1.27");
    await (await plan("docker_container.stopped", "web")).apply?.();
    expect((await plan("docker_container.running", "web", web)).changes).toEqual({ web: "started" });
    const { image } = web;
    expect((await plan("docker_container.running", "web", { image })).changes).toEqual({ web: "started" });
  });

  test("enters a network again with other aliases, and knows links as Docker shows them", async () => {
    const args = { image: "nginx", networks: [{ front: [{ aliases: ["db"] }] }] };
    await settle("docker_container.running", "web", args);
    docker.requests.length = 0;
    const other = { ...args, networks: [{ front: { aliases: "db,sql", ipv4_address: "10.9.0.7" } }] };
    const { changes } = await settle("docker_container.running", "web", other);
    expect(changes).toEqual({ front: { reconnected: ["Aliases", "IPv4Address"] } });
    expect(docker.requests).toEqual(["POST /networks/front/disconnect", "POST /networks/front/connect"]);
    docker.requests.length = 0;
    const unknown = plan("docker_container.running", "web", { ...args, networks: { front: { mac: "x" } } });
    await expect(unknown).rejects.toThrow('networks: front: "mac" is not known');
    await settle("docker_container.running", "linked", { image: "nginx", links: ["web", "db:database"] });
    const linked = docker.containers.get("linked");
    expect(linked?.HostConfig.Links).toEqual(["web:web", "db:database"]);
    if (linked !== undefined) linked.HostConfig.Links = ["/db:/linked/database", "/web:/linked/web"];
    const again = await plan("docker_container.running", "linked", {
      image: "nginx",
      links: "web,db:database",
    });
    expect(again.changes).toEqual({});
  });

  test("does not replace a container for a limit that the host cannot set", async () => {
    docker.info = { MemoryLimit: false, CPUShares: true };
    const args = { image: "nginx", memory: "64m", cpu_shares: 512 };
    await (await plan("docker_container.running", "web", args)).apply?.();
    const host = docker.containers.get("web")?.HostConfig ?? {};
    host.Memory = 0;
    expect(await plan("docker_container.running", "web", args)).toMatchObject({
      changes: {},
      comment: "the container web is as requested; this host cannot limit Memory",
    });
    host.CpuShares = 0;
    expect((await plan("docker_container.running", "web", args)).changes).toEqual({
      web: { replaced: ["CpuShares"] },
    });
  });

  test("fails when the container ends at once", async () => {
    docker.broken = true;
    const tested = await plan("docker_container.running", "web", web);
    await expect(tested.apply?.()).rejects.toThrow("the container web ended at once with 127");
  });

  test("fails with what Docker says of an image", async () => {
    const tested = await plan("docker_container.running", "web", { image: "private/app" });
    await expect(tested.apply?.()).rejects.toThrow(
      "cannot pull the image private/app:latest: pull access denied",
    );
  });
});

describe("other states of Docker", () => {
  test("an image is pulled, pulled again only by force, and removed", async () => {
    expect((await settle("docker_image.present", "nginx", { tag: 1.27 })).changes).toEqual({
      "nginx:1.27": "pulled",
    });
    const forced = await plan("docker_image.present", "nginx:1.27", { force: true });
    expect(await forced.apply?.()).toEqual({ changes: {}, comment: "the image nginx:1.27 is the newest" });
    docker.requests.length = 0;
    expect((await settle("docker_image.absent", "nginx:1.27")).changes).toEqual({ "nginx:1.27": "removed" });
  });

  test("credentials of a registry come from the settings, and reach only that registry", async () => {
    const login = { username: "app", password: "hush" };
    const settings = { "docker-registries": { "https://registry.example.com:5000/v1/": login, hub: login } };
    for (const image of ["registry.example.com:5000/app", "other.example.com/app", "nginx"]) {
      const tested = await plan("docker_image.present", image, {}, { settings });
      expect(JSON.stringify([tested.changes, tested.comment, await tested.apply?.()])).not.toContain("hush");
    }
    const sent = docker.logins.map((each) => Buffer.from(each, "base64url").toString());
    expect(sent).toEqual([
      JSON.stringify({ ...login, serveraddress: "registry.example.com:5000" }),
      "",
      JSON.stringify({ ...login, serveraddress: "docker.io" }),
    ]);
    const bad = { "docker-registries": { hub: { username: "app", password: 1 } } };
    const tested = await plan("docker_image.present", "redis", {}, { settings: bad });
    await expect(tested.apply?.()).rejects.toThrow("has no username and password of docker.io as texts");
  });

  test("a container is stopped and removed, and never while it runs", async () => {
    await (await plan("docker_container.running", "web", { image: "nginx" })).apply?.();
    await expect(plan("docker_container.absent", "web")).rejects.toThrow(
      "the container web runs: stop it first",
    );
    docker.requests.length = 0;
    expect((await settle("docker_container.stopped", "web")).changes).toEqual({ web: "stopped" });
    docker.requests.length = 0;
    expect((await settle("docker_container.absent", "web")).changes).toEqual({ web: "removed" });
    await expect(plan("docker_container.stopped", "web")).rejects.toThrow("does not exist");
  });

  test("a network is replaced while nobody is in it", async () => {
    const args = { subnet: "10.9.0.0/24", labels: { a: "b" } };
    await settle("docker_network.present", "front", args);
    docker.requests.length = 0;
    const other = { ...args, subnet: "10.8.0.0/24" };
    const { changes } = await settle("docker_network.present", "front", other);
    expect(changes).toEqual({ front: { replaced: ["IPAM.Config"] } });
    docker.networks.set("front", { ...docker.networks.get("front"), Containers: { c1: {} } });
    await expect(plan("docker_network.present", "front", args)).rejects.toThrow("1 containers are in it");
    docker.requests.length = 0;
    expect((await settle("docker_network.absent", "front")).changes).toEqual({ front: "removed" });
  });

  test("a network keeps what the engine adds, and addresses in another spelling", async () => {
    const args = { enable_ipv6: true, subnet: "FD00:0:0:1::5/64", gateway: "fd00:0:0:1:0::1" };
    await settle("docker_network.present", "six", args);
    const ipv4 = { Subnet: "172.21.0.0/16", Gateway: "172.21.0.1" };
    const ipv6 = { Subnet: "fd00:0:0:1::/64", Gateway: "FD00:0:0:1::1" };
    const found = docker.networks.get("six");
    docker.networks.set("six", { ...found, IPAM: { Driver: "default", Config: [ipv4, ipv6] } });
    expect((await plan("docker_network.present", "six", args)).changes).toEqual({});
    const second = { Subnet: "fd00:0:0:2::/64" };
    docker.networks.set("six", { ...found, IPAM: { Config: [ipv4, ipv6, second] } });
    expect((await plan("docker_network.present", "six", args)).changes).toEqual({
      six: { replaced: ["IPAM.Config"] },
    });
  });

  test("a container keeps addresses in another spelling, and not labels", async () => {
    const args = {
      image: "nginx",
      dns: ["FD00:0::53"],
      extra_hosts: ["db:FD00:0::2"],
      port_bindings: ["[0::FFFF:10.0.0.1]:8080:80"],
      labels: { at: "FD00::A" },
    };
    await settle("docker_container.running", "web", args);
    docker.requests.length = 0;
    const other = {
      image: "nginx",
      dns: ["fd00::53"],
      extra_hosts: ["db:fd00::2"],
      port_bindings: ["[::ffff:a00:1]:8080:80"],
      labels: { at: "fd00::a" },
    };
    const { changes } = await settle("docker_container.running", "web", other);
    expect(changes).toEqual({ web: { replaced: ["Labels"] } });
    docker.networks.set("front", {});
    const inFront = (ipv6_address: string) => ({ ...other, networks: [{ front: [{ ipv6_address }] }] });
    docker.requests.length = 0;
    await settle("docker_container.running", "web", inFront("FD00:0::9"));
    expect((await plan("docker_container.running", "web", inFront("fd00::9"))).changes).toEqual({});
  });

  test("a volume is created and removed", async () => {
    expect((await settle("docker_volume.present", "data")).changes).toEqual({ data: "created" });
    docker.requests.length = 0;
    expect((await settle("docker_volume.absent", "data")).changes).toEqual({ data: "removed" });
  });
});

test("without Docker a state fails only when it is applied", async () => {
  const { plan: tested } = await planOn({}, "docker_image.present", "nginx", {
    socket: "/nonexistent/docker.sock",
  });
  expect(tested.changes).toEqual({ nginx: "not known yet" });
  await expect(tested.apply?.()).rejects.toThrow("Docker does not answer at /nonexistent/docker.sock");
});

test.each([
  ["docker_container.running", "../x", { image: "nginx" }, "is not a name that Docker takes"],
  ["docker_container.running", "web", { image: "-x" }, "is not an image"],
  ["docker_container.running", "web", { image: "nginx", port_bindings: "80-90:80" }, "is not a port"],
  ["docker_container.running", "web", { image: "nginx", memory: "much" }, 'memory: "much" is not a size'],
  [
    "docker_container.running",
    "web",
    { image: "nginx", command: "sh -c 'x" },
    "command: a quote is not closed",
  ],
  ["docker_container.running", "web", { image: "nginx", restart: "often" }, "restart_policy: expected"],
  ["docker_container.running", "web", { image: "nginx", tty: "yes" }, "tty: expected true or false"],
])("%s refuses %p %p", async (called, name, args, message) => {
  await expect(plan(called, name, args)).rejects.toThrow(message);
});

describe("values as Salt's trees have them", () => {
  test.each([
    ["a b", ["a", "b"]],
    [`sh -c "echo \\"\\$x\\"" 'a  b'`, ["sh", "-c", 'echo "$x"', "a  b"]],
    [
      ["a b", 1],
      ["a b", "1"],
    ],
    ["  ", []],
  ])("the command %p", (written, words) => {
    expect(wordsOf("command", written)).toEqual(words);
  });

  test("ranges of ports, and limits of processes", () => {
    expect(portsOf("127.0.0.1:8000-8001:80-81/udp").bindings).toEqual({
      "80/udp": [{ HostIp: "127.0.0.1", HostPort: "8000" }],
      "81/udp": [{ HostIp: "127.0.0.1", HostPort: "8001" }],
    });
    const limits = ["nofile=1024:2048", { Name: "core", Soft: 0 }];
    expect(containerBody("a:1", { ulimits: limits }).HostConfig).toEqual({
      Ulimits: [
        { Name: "nofile", Soft: 1024, Hard: 2048 },
        { Name: "core", Soft: 0, Hard: 0 },
      ],
    });
  });

  test("ports, sizes, devices and directories", () => {
    expect(portsOf("53:53/udp,80").bindings).toEqual({
      "53/udp": [{ HostIp: "", HostPort: "53" }],
      "80/tcp": [{ HostIp: "", HostPort: "" }],
    });
    const body = containerBody("a:1", {
      memory: "512m",
      devices: ["/dev/sdb:/dev/x:r"],
      volumes: ["/data", "/a:/b"],
    });
    expect(body).toEqual({
      Image: "a:1",
      Volumes: { "/data": {} },
      HostConfig: {
        Binds: ["/a:/b"],
        Devices: [{ PathOnHost: "/dev/sdb", PathInContainer: "/dev/x", CgroupPermissions: "r" }],
        Memory: 536_870_912,
      },
    });
  });
});
