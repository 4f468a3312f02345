import { describe } from '@jest/globals'
import { arrivalsContract } from './arrivals-contract.ts'
import { graphContract } from './graph-contract.ts'
import { graphRules } from './graph-rules.ts'
import { linkingContract } from './linking-contract.ts'
import type { Open } from './opened.ts'
import { pruningContract } from './pruning-contract.ts'
import { transactionsContract } from './transactions-contract.ts'

/** What any implementation of the ports of the store has to keep to. */
export function storeContract(open: Open): void {
  describe('transactions', () => transactionsContract(open))
  describe('merge graph', () => graphContract(open))
  describe('the rules of the graph on it', () => graphRules(open))
  describe('arrivals', () => arrivalsContract(open))
  describe('pruning', () => pruningContract(open))
  describe('linking', () => linkingContract(open))
}
