// One controller of the control plane, in a process of its own: `controller.ts scheduler`.
import { controllersOf, CONTROLLER_NAMES } from '../../packages/control-plane/controllers/controllers.ts'
import { onStage } from './stage.ts'

/** Pods take long enough to start for the Service to be there first. */
const PACE = { pullingMs: { least: 400, most: 700 }, startingMs: { least: 400, most: 800 } }

const name = CONTROLLER_NAMES.find((one) => one === process.argv[2])
if (name === undefined) throw new Error(`Name one of ${CONTROLLER_NAMES.join(', ')}`)
await onStage(controllersOf(PACE)[name])
