import type { Findings } from '../findings.ts'
import { listenersOf } from '../listeners.ts'
import type { Sections } from './read-sections.ts'

interface Use {
  path: string
  id: string | undefined
  by: 'listener' | 'exporter'
}

/** Every authenticator that something names is there, is on, and does what is asked of it. */
export function checkAuthenticators(sections: Sections, findings: Findings): void {
  const { extensions, service, declarations } = sections
  if (extensions.isUnreadable) return
  const authenticators = declarations.extensions.filter((type) => type.insteadFor !== undefined)
  for (const { path, id, by } of usesOf(sections)) {
    if (id === undefined) continue
    const where = `${path}::auth::authenticator`
    const built = extensions.built.get(id)
    if (!extensions.typeById.has(id)) {
      findings.mistake(where, `"${id}" is not configured; write it under extensions, with its token or users`)
    } else if (!service.extensions.includes(id)) {
      findings.mistake(where, `"${id}" is not on; add it to service::extensions`)
    } else if (built !== undefined && built.type.insteadFor === undefined) {
      const names = authenticators.map(({ name }) => name).join(' or ')
      findings.mistake(where, `"${id}" checks no credentials; name a ${names} extension`)
    } else if (built !== undefined) {
      const instead = built.type.insteadFor?.(built.settings, by)
      if (instead !== undefined) findings.mistake(where, `"${id}" cannot be used here; name ${instead}`)
    }
  }
}

function usesOf({ receivers, exporters, extensions }: Sections): Use[] {
  const listeners = [
    ...[...receivers.built.values()].flatMap((receiver) => listenersOf('receivers', receiver)),
    ...[...extensions.built.values()].flatMap((extension) => listenersOf('extensions', extension)),
  ]
  return [
    ...listeners.map(({ path, auth }): Use => ({ path, id: auth, by: 'listener' })),
    ...[...exporters.built.values()].map(({ id, type, settings }): Use => ({
      path: `exporters::${id}`,
      id: type.auth?.(settings),
      by: 'exporter',
    })),
  ]
}
