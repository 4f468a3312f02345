import type { AuthenticatorConfig } from '../causeway-config.ts'
import type { Findings } from '../findings.ts'
import type { Sections } from './read-sections.ts'

interface Use {
  path: string
  id: string | undefined
  by: 'listener' | 'exporter'
}

/** Every authenticator that something names is there, is on, and does what is asked of it. */
export function checkAuthenticators(sections: Sections, findings: Findings): void {
  const { extensions, service } = sections
  if (extensions.isUnreadable) return
  for (const { path, id, by } of usesOf(sections)) {
    if (id === undefined) continue
    const where = `${path}::auth::authenticator`
    const built = extensions.built.get(id)
    if (!extensions.typeById.has(id)) {
      findings.mistake(where, `"${id}" is not configured; write it under extensions, with its token or users`)
    } else if (!service.extensions.includes(id)) {
      findings.mistake(where, `"${id}" is not on; add it to service::extensions`)
    } else if (built !== undefined && built.kind !== 'authenticator') {
      findings.mistake(where, `"${id}" checks no credentials; name a bearertokenauth or basicauth extension`)
    } else if (built?.kind === 'authenticator' && !serves(built.settings, by)) {
      const needed = by === 'listener' ? 'htpasswd, which knows users' : 'client_auth, which logs in'
      findings.mistake(where, `"${id}" cannot be used here; name a basicauth with ${needed}`)
    }
  }
}

function usesOf({ receivers, exporters, extensions }: Sections): Use[] {
  const uses: Use[] = []
  for (const { id, grpc, http } of receivers.built.values()) {
    const path = `receivers::${id}::protocols`
    uses.push({ path: `${path}::grpc`, id: grpc?.auth, by: 'listener' })
    uses.push({ path: `${path}::http`, id: http?.auth, by: 'listener' })
  }
  for (const [id, extension] of extensions.built)
    if (extension.kind === 'cpid_query')
      uses.push({ path: `extensions::${id}`, id: extension.settings.auth, by: 'listener' })
  for (const exporter of exporters.built.values())
    if (exporter.kind !== 'debug')
      uses.push({ path: `exporters::${exporter.id}`, id: exporter.auth, by: 'exporter' })
  return uses
}

function serves(settings: AuthenticatorConfig, by: Use['by']): boolean {
  if (settings.kind === 'bearertokenauth') return true
  return (by === 'listener' ? settings.htpasswd : settings.clientAuth) !== undefined
}
