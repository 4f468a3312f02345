/** The life of a helper process: says that it is ready, answers each order, ends with the bench. */
export function obeyOrders(obey: (order: never) => unknown): void {
  const tell = (message: unknown): void => {
    process.send?.(message)
  }
  const answerTo = async (order: never): Promise<unknown> => {
    try {
      return await obey(order)
    } catch (error) {
      return { kind: 'failed', reason: String(error) }
    }
  }
  process.on('message', (order) => {
    void answerTo(order as never).then(tell)
  })
  process.on('disconnect', () => process.exit(0))
  tell({ kind: 'ready' })
}
