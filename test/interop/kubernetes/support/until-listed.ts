import { expect } from '@jest/globals'
import { EVERYTHING_LISTED } from '../../../../src/model/kubernetes-observations.ts'
import type { Causeway } from '../../support/causeway.ts'
import type { Scene } from '../../support/scene.ts'

/** Resolves once a Causeway has listed its cluster: of what is made before, nobody can tell who made it. */
export async function untilListed(scene: Scene, causeway: Causeway): Promise<void> {
  await scene.eventually(() => expect(causeway.said(EVERYTHING_LISTED)).toBe(true))
}
