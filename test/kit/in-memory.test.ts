import { describe } from '@jest/globals'
import { openInMemory } from './in-memory/open-in-memory.ts'
import { storeContract } from './store-contract.ts'

describe('ports in maps', () => storeContract(() => Promise.resolve(openInMemory())))
