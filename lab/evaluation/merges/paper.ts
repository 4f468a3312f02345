/** The limits of section 5.1.2. */
export const LIMITS = [0, 1, 2, 3, 5, 10, 15, 20, 30] as const

/** What the paper says in words of its Figure 11: mergelogs in percent of those at N = 0. From N = 15 it is the floor. */
export const PAPER_PERCENT: Readonly<Record<number, number>> = { 0: 100, 5: 25, 10: 8 }

/** Where the floor begins in the paper. */
export const PAPER_FLOOR_FROM = 15

/** Updates of each Deployment in the scenario, creation aside: each merges a root change into what was there. */
export const UNAVOIDABLE_MERGES = 7

export const DEPLOYMENTS = 5
