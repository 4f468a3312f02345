// npm run build. With --if-stale it does nothing when dist/web is what the sources make.
import { buildDashboard, isDashboardBuilt } from './dashboard-build.ts'

const isNeeded = !process.argv.includes('--if-stale') || !(await isDashboardBuilt())
if (isNeeded) await buildDashboard()
