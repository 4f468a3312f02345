// Runs the operator with Causeway. The lines for Causeway are between blank lines.
package main

import (
	"context"
	"log"

	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"causeway"
	"causeway/examples/webapp"
	"causeway/otlp"
)

func main() {
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	ctrl.SetLogger(zap.New())
	ctx := ctrl.SetupSignalHandler()

	shutdown, err := otlp.Start(ctx, "web-app-operator")
	if err != nil {
		return err
	}
	defer func() { _ = shutdown(context.Background()) }()

	scheme := runtime.NewScheme()
	if err := clientgoscheme.AddToScheme(scheme); err != nil {
		return err
	}
	if err := webapp.AddToScheme(scheme); err != nil {
		return err
	}
	config, err := ctrl.GetConfig()
	if err != nil {
		return err
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}})
	if err != nil {
		return err
	}

	mgr = causeway.WrapManager(mgr)

	if err := (&webapp.Reconciler{Client: mgr.GetClient(), Scheme: mgr.GetScheme()}).SetupWithManager(mgr); err != nil {
		return err
	}
	return mgr.Start(ctx)
}
