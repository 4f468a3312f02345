package otlp

import (
	"context"
	"fmt"
	"reflect"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"causeway/changes"
	"causeway/internal/seldom"
)

const lostItems = "cpid.instrumentation.lost_items"

// losses counts items passed to the exporter, and those that were not delivered.
type losses struct {
	what                   string
	logged                 *seldom.Losses
	handed, taken, refused atomic.Int64
	hasEnded               atomic.Bool
}

func newLosses(what string) *losses {
	return &losses{what: what, logged: seldom.NewLosses(logr.Logger{}, time.Now)}
}

func (l *losses) exported(items int, err error) {
	refused := int64(items)
	if err == nil {
		refused = 0
	} else if some, ok := refusedIn(err); ok {
		refused = min(some, refused)
	}
	l.taken.Add(int64(items) - refused)
	l.refused.Add(refused)
	if refused > 0 {
		l.tell()
	}
}

// refusedIn returns how many items a partial success refused; false for other errors. The exporters return a partial success, even a mere
// warning, as an error of an internal type.
func refusedIn(err error) (int64, bool) {
	if value := reflect.ValueOf(err); value.Kind() == reflect.Struct {
		if rejected := value.FieldByName("RejectedItems"); rejected.CanInt() {
			return rejected.Int(), true
		}
	}
	switch wraps := err.(type) {
	case interface{ Unwrap() error }:
		return refusedIn(wraps.Unwrap())
	case interface{ Unwrap() []error }:
		for _, one := range wraps.Unwrap() {
			if some, ok := refusedIn(one); ok {
				return some, true
			}
		}
	}
	return 0, false
}

// hand counts an item passed to the exporter, whose queue may be full.
func (l *losses) hand() {
	l.handed.Add(1)
	l.tell()
}

func (l *losses) tell() {
	if lost := l.count(); lost > 0 && !l.hasEnded.Load() {
		l.logged.Tell(l.lost(), lost)
	}
}

func (l *losses) lost() string {
	return l.what + " are lost: nobody took them in time, or they were refused; see whether OTEL_EXPORTER_OTLP_ENDPOINT can be reached"
}

// count is how many items are certainly lost: all undelivered ones, less a full queue and the batch in flight.
func (l *losses) count() int64 {
	left := l.handed.Load() - l.taken.Load()
	if l.hasEnded.Load() {
		return left
	}
	refused := l.refused.Load()
	return refused + max(0, left-refused-mostWaiting-sdktrace.DefaultMaxExportBatchSize)
}

// countLosses registers a metric of the losses.
func countLosses(of ...*losses) {
	_, _ = otel.Meter(changes.Scope).Int64ObservableCounter(lostItems, metric.WithUnit("{item}"),
		metric.WithDescription("Spans and mergelogs that were dropped, since nobody took them in time."),
		metric.WithInt64Callback(func(_ context.Context, o metric.Int64Observer) error {
			sum := int64(0)
			for _, one := range of {
				sum += one.count()
			}
			o.Observe(sum)
			return nil
		}))
}

// end logs the final losses, and returns them as an error.
func (l *losses) end() error {
	l.hasEnded.Store(true)
	if lost := l.count(); lost > 0 {
		l.logged.End(l.lost(), lost)
		return fmt.Errorf("%d %s of %d were not delivered", lost, l.what, l.handed.Load())
	}
	return nil
}

// flushed logs the losses so far, since a process that flushes may end soon.
func (l *losses) flushed(err error) error {
	l.logged.End(l.lost(), l.count())
	return err
}

type countedSpans struct {
	sdktrace.SpanProcessor
	losses *losses
}

func (c countedSpans) OnEnd(span sdktrace.ReadOnlySpan) {
	if span.SpanContext().IsSampled() {
		c.losses.hand()
	}
	c.SpanProcessor.OnEnd(span)
}

func (c countedSpans) ForceFlush(ctx context.Context) error {
	return c.losses.flushed(c.SpanProcessor.ForceFlush(ctx))
}

type countedRecords struct {
	sdklog.Processor
	losses *losses
}

func (c countedRecords) OnEmit(ctx context.Context, record *sdklog.Record) error {
	c.losses.hand()
	return c.Processor.OnEmit(ctx, record)
}

func (c countedRecords) ForceFlush(ctx context.Context) error {
	return c.losses.flushed(c.Processor.ForceFlush(ctx))
}
