const LOOK_EVERY_MS = 500

/** Calls back once bin/node.js, which started this process, is gone without having ended it. */
export function onLauncherGone(take: () => void): void {
  const launcher = Number(process.env['CAUSEWAY_LAUNCHER'])
  if (!(launcher > 0)) return
  const looking = setInterval(() => {
    if (isAlive(launcher)) return
    clearInterval(looking)
    take()
  }, LOOK_EVERY_MS).unref()
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // One of another user's is alive as well.
    return (error as NodeJS.ErrnoException).code !== 'ESRCH'
  }
}
