/** What files of tests import as `@jest/globals`: always of the file that is running. */
export let afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test

export function provide(globals) {
  ;({ afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } = globals)
}
