import { attempt } from "../../../base/errors.ts";
import { arg } from "../../../host/modules/mod.ts";
import { StateFailure } from "../../function/mod.ts";

/** A URL without its user name and password, and how git gets those when the server asks for them. */
export interface GitRemote {
  url: string;
  /** Options of git; they contain no secret. */
  options: readonly string[];
  env: Readonly<Record<string, string>>;
}

/** Arguments of the states of repositories, as Salt's trees name them. */
export const credentialArgs = {
  https_user: arg.string("User name for an http or https URL."),
  https_pass: arg.string(
    "Password for an http or https URL. It is not shown; one in the URL is part of the name of the state.",
  ),
} as const;

export interface Credentials {
  https_user?: string | undefined;
  https_pass?: string | undefined;
}

/**
 * Takes the user name and password out of an http URL: other users can read the arguments of git and of the programs
 * that it starts, and git would write the URL into the configuration of the clone.
 *
 * @throws StateFailure when they contain a line break, which git would read as more than one value
 */
export function remoteOf(written: string, { https_user, https_pass }: Credentials = {}): GitRemote {
  const [, scheme = "", userinfo, host = "", path = ""] =
    /^(https?:\/\/)(?:([^/@\s]*)@)?([^/?#@]+)(.*)$/s.exec(written) ?? [];
  if (host === "" || (userinfo ?? https_user ?? https_pass) === undefined) {
    return { url: written, options: [], env: {} };
  }
  const [user = "", password = ""] = (userinfo ?? "").split(/:(.*)/s);
  const env = {
    SVC_GIT_USERNAME: https_user ?? decoded(user),
    SVC_GIT_PASSWORD: https_pass ?? decoded(password),
  };
  if (/[\n\r\0]/.test(Object.values(env).join(""))) {
    throw new StateFailure("name: the user name and password must not contain a line break");
  }
  // Only this server gets them, also when it redirects or has submodules of others.
  const helper = `credential.${scheme}${host}.helper`;
  return {
    url: `${scheme}${host}${path}`,
    options: ["-c", `${helper}=`, "-c", `${helper}=${program}`],
    env,
  };
}

const program = `!f() { printf 'username=%s\\npassword=%s\\n' "$SVC_GIT_USERNAME" "$SVC_GIT_PASSWORD"; }; f`;

/** `%40` as `@`; a percent sign that means nothing stays. */
function decoded(text: string): string {
  return attempt(() => decodeURIComponent(text), text);
}
