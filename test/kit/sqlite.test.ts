import { describe } from '@jest/globals'
import { answersLikeModel } from './drawn-calls.ts'
import { openSqlite } from './open-sqlite.ts'
import { storeContract } from './store-contract.ts'

describe('ports on SQLite', () => {
  storeContract(openSqlite)
  answersLikeModel(openSqlite)
})
