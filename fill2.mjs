const { TestWriter } = await import('./test/support/test-writer.ts')
const { cpid } = await import('./test/support/otlp-requests.ts')
const w = await TestWriter.open({ traceIndex: { batch: 10000, readAtStart: 100000, readAtOnce: 1000, leastIds: 1000 } }, process.argv[2])
const total=Number(process.argv[3]); let id=1; const t0=Date.now()
for (let n=0,c=1;n<total;) { const logs=[], spans=[]; for (let k=0;k<50;k++,c++) { logs.push({new:cpid(c), time:n}); for (let s=0;s<20;s++,n++) spans.push({trace:1000000+c*2+(s>9?1:0), id:++id, cpid:cpid(c), name:`op ${n%40}`, start:n, attributes:{'user.name': n===23456?'rare':`user-${n%1000}`}}) }
 w.mergelogs('kubectl',logs); w.spans('ctl',spans); if (n%20000===0) w.link() }
w.pass(1_000_000); console.log('filled',(Date.now()-t0)/1000); w.shortenLog(); w[Symbol.dispose]()
