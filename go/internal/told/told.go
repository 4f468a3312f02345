// Package told keeps what a controller tells, for tests.
package told

import (
	"context"
	"slices"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdklog "go.opentelemetry.io/otel/sdk/log"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// Mergelog is one that was sent.
type Mergelog struct {
	CPID    string
	Sources []string
	Object  string
}

// Span is one that ended.
type Span struct {
	Name, CPID      string
	Observed, Wrote []string
	IsFailed        bool
}

// Changes are the mergelogs and spans of its providers.
type Changes struct {
	mu        sync.Mutex
	mergelogs []Mergelog
	spans     []Span
}

// Tracers gives spans to keep.
func (c *Changes) Tracers() *sdktrace.TracerProvider {
	return sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans{c}))
}

// Loggers gives mergelogs to keep.
func (c *Changes) Loggers() *sdklog.LoggerProvider {
	return sdklog.NewLoggerProvider(sdklog.WithProcessor(records{c}))
}

// Mergelogs are those so far.
func (c *Changes) Mergelogs() []Mergelog {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.mergelogs)
}

// MergelogOf is that of a CPID, and whether there is one.
func (c *Changes) MergelogOf(id string) (Mergelog, bool) {
	for _, one := range c.Mergelogs() {
		if one.CPID == id {
			return one, true
		}
	}
	return Mergelog{}, false
}

// Spans are those of a name so far; all where it is empty.
func (c *Changes) Spans(name string) (found []Span) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.spans {
		if one.Name == name || name == "" {
			found = append(found, one)
		}
	}
	return found
}

// Names are those of all spans so far.
func (c *Changes) Names() (names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.spans {
		names = append(names, one.Name)
	}
	return names
}

type spans struct{ *Changes }

func (s spans) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (s spans) Shutdown(context.Context) error                  { return nil }
func (s spans) ForceFlush(context.Context) error                { return nil }
func (s spans) OnEnd(ended sdktrace.ReadOnlySpan) {
	span := Span{Name: ended.Name(), IsFailed: ended.Status().Code == codes.Error}
	for _, one := range ended.Attributes() {
		switch one.Key {
		case "cpid.id":
			span.CPID = one.Value.AsString()
		case "cpid.observed":
			span.Observed = one.Value.AsStringSlice()
		case "cpid.wrote":
			span.Wrote = one.Value.AsStringSlice()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.spans = append(s.spans, span)
}

type records struct{ *Changes }

func (r records) Enabled(context.Context, sdklog.EnabledParameters) bool { return true }
func (r records) Shutdown(context.Context) error                         { return nil }
func (r records) ForceFlush(context.Context) error                       { return nil }
func (r records) OnEmit(_ context.Context, record *sdklog.Record) error {
	var told Mergelog
	record.WalkAttributes(func(one attribute.KeyValue) bool {
		switch one.Key {
		case "cpid.new":
			told.CPID = one.Value.AsString()
		case "cpid.sources":
			told.Sources = one.Value.AsStringSlice()
		case "cpid.object":
			told.Object = one.Value.AsString()
		}
		return true
	})
	r.mu.Lock()
	defer r.mu.Unlock()
	r.mergelogs = append(r.mergelogs, told)
	return nil
}
