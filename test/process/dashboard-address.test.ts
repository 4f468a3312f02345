import { expect, test } from '@jest/globals'
import { startCauseway } from '../../lab/harness/causeway/causeway-process.ts'
import { freshSettings } from '../../lab/harness/causeway/causeway-settings.ts'
import { leaveNothingBehind } from './support/leave-nothing-behind.ts'

leaveNothingBehind()

test('the start-up log has the address of the dashboard', async () => {
  await using causeway = await startCauseway(await freshSettings())
  const [, address = 'http://none'] = /\tThe dashboard and the API are at (\S+)\n/.exec(causeway.errors) ?? []
  expect(address).toBe(`http://127.0.0.1:${causeway.settings.ports.query}/`)
  expect((await fetch(`${address}api/v1/cascades`)).status).toBe(200)
})
