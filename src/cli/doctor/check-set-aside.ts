import type { SetAsideFacts } from '../../model/ports/setup-port.ts'
import { count, plain } from '../text/show.ts'
import { ok, warn, type Finding } from './finding.ts'

const CHECK = 'linking'

/** Whether everything could be linked, settled and sent. */
export function checkSetAside(facts: SetAsideFacts | undefined): Finding {
  if (facts === undefined) return ok(CHECK, 'nothing had to be set aside')
  return warn(
    CHECK,
    `${count(facts.items, 'item')} had to be set aside; the newest at ${facts.time}: ${plain(facts.reason)}`,
    'SELECT * FROM audit_set_aside shows each (causeway sql); keep a copy of the database, check its integrity, and report it',
  )
}
