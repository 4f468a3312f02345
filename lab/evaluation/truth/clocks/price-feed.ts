// Writes into the status of each Price what a market outside of the cluster says: upon its creation, and every other 4 s another price.
import { all, apiAs, at, list, looksAgain, type Named } from '../programs/looks-again.ts'
import { byTheClock, each } from './by-the-clock.ts'

interface Price extends Named {
  readonly status?: { readonly value?: string }
}

const API_VERSION = 'market.example.com/v1'
const PROGRAM = 'price-feed'
const PRICES = all(API_VERSION, 'prices')
const TICK_MS = 4_000
const NEVER_MS = 3_600_000

const api = apiAs(PROGRAM)
const clock = byTheClock(api, PROGRAM)
let now = 100

const give = (by: typeof api, { metadata: { namespace, name } }: Price): Promise<unknown> =>
  by.patch(at(API_VERSION, namespace, 'prices', name, 'status'), {
    status: { value: `${now}`, at: new Date() },
  })

const look = async (): Promise<void> => {
  for (const price of await list<Price>(api, PRICES))
    if (price.status?.value === undefined) await give(api, price)
}
looksAgain(api, [PRICES], look, NEVER_MS)
each(TICK_MS, async (tick) => {
  if (tick % 2 === 0) now++
  for (const price of await list<Price>(api, PRICES))
    if (price.status?.value !== undefined && price.status.value !== `${now}`) await give(clock, price)
})
