// Loaded before Causeway by the demo, so that a demo that dies without a word takes Causeway with it.
import { isMainThread } from 'node:worker_threads'

const LONGEST_DRAIN_MS = 12_000

// Causeway's threads load this file too, but only the main one has the channel to the demo.
if (isMainThread) {
  process.once('disconnect', end)
  // Listening for the end of the channel would otherwise keep a Causeway alive that has shut down.
  process.channel?.unref()
  if (!process.connected) end()
}

function end(): void {
  process.kill(process.pid, 'SIGTERM')
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), LONGEST_DRAIN_MS).unref()
}
