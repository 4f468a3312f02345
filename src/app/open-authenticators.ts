import type { CausewayConfig } from '../config/causeway-config.ts'
import { typeNamed } from '../config/declarations.ts'
import type { Authenticator } from '../trust/authenticator.ts'
import { loginGuard } from '../trust/basic-logins.ts'
import type { Components } from './components.ts'

/** What a listener is given; one that names an authenticator never opens without it. */
export type AuthenticatorOf = (listener: { auth?: string }) => { authenticator?: Authenticator }

/** Opens the authenticators that listeners name. Rejects with what is wrong with the files of one. */
export async function openAuthenticators(
  { receivers, extensions }: CausewayConfig,
  components: Components,
  onTrouble: (reason: string) => void,
  open: AsyncDisposableStack,
): Promise<AuthenticatorOf> {
  const listeners = [...receivers, ...extensions].flatMap((component) => component.listeners)
  const used = new Set(listeners.map(({ auth }) => auth))
  const guard = loginGuard()
  const opened = new Map<string, Authenticator>()
  for (const { id, type, settings } of extensions.filter(({ id }) => used.has(id))) {
    const module = await typeNamed(components.extensions, type)?.loadCredentials?.()
    if (module !== undefined)
      opened.set(id, open.use(module.openAuthenticator(id, settings, { onTrouble, guard })))
  }
  return ({ auth }) => {
    if (auth === undefined) return {}
    const authenticator = opened.get(auth)
    if (authenticator === undefined) throw new Error(`the authenticator ${auth} is not open`)
    return { authenticator }
  }
}
