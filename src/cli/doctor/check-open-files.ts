import { listenerLimits } from '../../app/resources/listener-limits.ts'
import { openFilesLimit } from '../../app/resources/open-files.ts'
import type { CausewayConfig } from '../../config/causeway-config.ts'
import { ok, warn, type Finding } from './finding.ts'

/** Whether whoever asks may have as many files open as the connections need that are configured. */
export function checkOpenFiles(config: CausewayConfig): Finding {
  const limit = openFilesLimit()
  const { warning } = listenerLimits(config, limit)
  if (warning === undefined)
    return ok(
      'open files',
      limit === undefined ? 'nothing limits them here' : `${limit} may be open, which is enough`,
    )
  return warn(
    'open files',
    warning,
    'raise the limit for the user, service or container that starts causeway',
  )
}
