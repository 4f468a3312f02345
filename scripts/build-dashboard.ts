// npm run build: the dashboard and the files of `causeway kubectl`. With --if-stale only what is not of the sources at hand.
import { buildDashboard, isDashboardBuilt } from './dashboard-build.ts'
import { buildKubectl, isKubectlBuilt } from '../packages/kubectl/build-kubectl.ts'

const isAll = !process.argv.includes('--if-stale')
if (isAll || !(await isDashboardBuilt())) await buildDashboard()
if (isAll || !isKubectlBuilt()) await buildKubectl()
