import type { AuthenticatorConfig } from '../config/causeway-config.ts'
import type { Authenticator, Credentials } from '../trust/authenticator.ts'
import { acceptLogins, loginGuard, showLogin, type LoginGuard } from '../trust/basic-logins.ts'
import { acceptBearerTokens, showBearerToken } from '../trust/bearer-tokens.ts'

/** How often files with tokens and passwords are looked at, in milliseconds. */
const LOOK_MS = 5_000

type Tell = (reason: string) => void

/** Opens an authenticator for a listener. Throws what is wrong with its files. */
export function openAuthenticator(
  config: AuthenticatorConfig,
  onTrouble: Tell,
  guard: LoginGuard = loginGuard(),
): Authenticator {
  const common = { id: config.id, reloadIntervalMs: LOOK_MS, onTrouble }
  return config.kind === 'bearertokenauth'
    ? acceptBearerTokens({ ...config, ...common })
    : acceptLogins({ ...common, ...config.htpasswd, guard })
}

/** Opens what an exporter shows to its backend. Throws what is wrong with its files. */
export function openCredentials(config: AuthenticatorConfig, onTrouble: Tell): Credentials {
  const common = { id: config.id, reloadIntervalMs: LOOK_MS, onTrouble }
  return config.kind === 'bearertokenauth'
    ? showBearerToken({ ...config, ...common })
    : showLogin({ ...common, ...config.clientAuth })
}
