"""Dashboard endpoints (capabilities 2 to 4): endpoint files as a real FastAPI application, in process or over HTTP."""
