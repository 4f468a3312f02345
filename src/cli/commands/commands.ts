import { CASCADE } from './cascade-command.ts'
import { CASCADES } from './cascades-command.ts'
import type { Commands } from './command.ts'
import { COMPONENTS, PRINT_CONFIG, RUN, VALIDATE } from './config-command-entries.ts'
import { DOCTOR } from '../doctor/doctor-command.ts'
import { IMPORT } from './import-command.ts'
import { KUBECTL } from './kubectl-command.ts'
import { MERGELOGS } from './mergelogs-command.ts'
import { MIGRATE } from './migrate-command.ts'
import { OBSERVE } from './observe-command.ts'
import { PRUNE } from './prune-command.ts'
import { RELATED } from './related-command.ts'
import { SALVAGE } from './salvage-command.ts'
import { SQL } from './sql-command.ts'

/** Every command by its name, in the order of the help. */
export const COMMANDS: Commands = new Map([
  ['run', RUN],
  ['observe', OBSERVE],
  ['kubectl', KUBECTL],
  ['validate', VALIDATE],
  ['components', COMPONENTS],
  ['print-config', PRINT_CONFIG],
  ['related', RELATED],
  ['cascades', CASCADES],
  ['cascade', CASCADE],
  ['mergelogs', MERGELOGS],
  ['sql', SQL],
  ['import', IMPORT],
  ['doctor', DOCTOR],
  ['migrate', MIGRATE],
  ['prune', PRUNE],
  ['salvage', SALVAGE],
])
