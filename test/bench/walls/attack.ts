/** What weighs on a master while an administrator works. */
export type Attack =
  /** Raw connections that send nothing, again and again. */
  | { kind: "half-open"; port: number; connections: number }
  /** Connections with a finished handshake, which stay. */
  | { kind: "open"; port: number; ca: string; connections: number }
  /** Signed requests of one operator, one after the other on one connection, and then the end. */
  | { kind: "signed"; operator: Sender; requests: number }
  /** Targets that cost much, six at once, again and again. */
  | { kind: "costly"; operator: Sender }
  /** Hosts that ask to join, eight at once, again and again. */
  | { kind: "joining"; url: string; ca: string };

/** An operator, and how it connects. */
export interface Sender {
  busUrl: string;
  ca: string;
  name: string;
  seed: string;
  jwt: string;
}
