import { existsSync } from 'node:fs'
import { expect, test } from '@jest/globals'
import Database from 'better-sqlite3'
import { CausewayProcess } from '../../lab/harness/causeway/causeway-process.ts'
import { leaveNothingBehind } from './support/leave-nothing-behind.ts'
import { freshSettings, type CausewayPorts } from '../../lab/harness/causeway/causeway-settings.ts'
import { occupy } from '../../lab/harness/free-ports.ts'

const SETTINGS: Record<keyof CausewayPorts, string> = {
  grpc: 'receivers::otlp::protocols::grpc::endpoint',
  http: 'receivers::otlp::protocols::http::endpoint',
  query: 'extensions::cpid_query::endpoint',
  health: 'extensions::health_check::endpoint',
  metrics: 'service::telemetry::metrics::readers',
}
const NAMES = Object.keys(SETTINGS) as (keyof CausewayPorts)[]

leaveNothingBehind()

test.each(NAMES)('when the %s port is taken it says which setting to change, and ends', async (name) => {
  const settings = await freshSettings()
  await using other = await occupy(settings.ports[name])
  await using causeway = new CausewayProcess(settings)
  const ending = await causeway.ending()
  expect(ending.code).toBeGreaterThan(0)
  expect(causeway.complaints.length).toBe(1)
  const [complaint = ''] = causeway.complaints
  expect(complaint.replaceAll('.', '::')).toContain(SETTINGS[name])
  expect(complaint).toContain(`127.0.0.1:${other.port}`)
  expect(complaint).toMatch(/in use|uses the port/)
  expect(complaint).toMatch(/choose another|change/)
  expectUnlocked(settings.database)
})

function expectUnlocked(path: string): void {
  if (!existsSync(path)) return
  const db = new Database(path, { timeout: 0 })
  db.exec('BEGIN EXCLUSIVE; COMMIT')
  db.close()
}
