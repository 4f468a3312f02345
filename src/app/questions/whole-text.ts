import type { ReplyText } from '../../api/query-service.ts'

/** An answer that came at once. */
export class WholeText implements ReplyText {
  readonly whole: string

  constructor(text: string) {
    this.whole = text
  }

  cancel(): void {
    // Nothing more is being made.
  }

  // eslint-disable-next-line @typescript-eslint/require-await -- there is nothing to wait for
  async *[Symbol.asyncIterator](): AsyncGenerator<string> {
    yield this.whole
  }
}
